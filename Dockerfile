# docker build -t content-review-connector .      (requires BuildKit)
# docker run --rm --read-only -v "$PWD/connector.yaml:/etc/content-review-connector/config.yaml:ro" content-review-connector
#
# In the configuration set http.host to 0.0.0.0, so that metrics and health can be reached from outside the container.
# docs/container.md: pinning by digest, mirrors, a certificate authority of your own, several platforms, the list of parts (SBOM).

# The Node that the tests run on (package-lock.json; a test compares the two). Pin both by digest where you build:
#   --build-arg NODE_IMAGE=node:26.10.0-trixie-slim@sha256:…
ARG NODE_IMAGE=node:26.10.0-trixie-slim
# glibc, libstdc++ and certificates; no shell, no package manager.
ARG BASE_IMAGE=gcr.io/distroless/cc-debian13:nonroot

# All dependencies are pure JavaScript, so one build serves every platform.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
# Files that seldom change come first, so that the layer with the dependencies is reused. No package runs scripts.
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
COPY packages/consumer/package.json packages/consumer/
COPY packages/sandbox/package.json packages/sandbox/
# Both secrets are optional. Node warns about a certificate file that does not exist.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
    NODE_EXTRA_CA_CERTS="$(ls /run/secrets/ca 2>/dev/null || echo "$NODE_EXTRA_CA_CERTS")" npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY packages ./packages
COPY contracts ./contracts
RUN npm run build && find dist -name '*.d.ts' -delete
# Lists the parts before pruning, because npm rejects a tree that lacks packages of its lock file. --omit=dev alone would keep
# TypeScript, which is also an optional peer of a dependency. Links to the workspaces would lead nowhere in the image.
# `prepack` corrects the range of a bundled dependency, which contradicts the override, because `npm sbom` rejects such a tree.
RUN npm run --silent prepack && \
    npm sbom --omit=dev --omit=optional --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json && \
    npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && \
    rm node_modules/content-review-*

# docker build --target sbom --output . .     writes sbom.cdx.json
FROM scratch AS sbom
COPY --from=build /build/sbom.cdx.json /

FROM ${NODE_IMAGE} AS node
# Node, and the only library that it needs and the base image lacks.
RUN mkdir -p /runtime/usr/local/bin /runtime/usr/lib && \
    cp /usr/local/bin/node /runtime/usr/local/bin/ && \
    cp -L /usr/lib/*-linux-gnu/libatomic.so.1 /runtime/usr/lib/

FROM ${BASE_IMAGE}
COPY --from=node /runtime/ /
WORKDIR /app
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/package.json /build/sbom.cdx.json ./
COPY --from=build /build/dist ./dist
COPY LICENSE ./
# MALLOC_ARENA_MAX as in the first line of src/cli/main.ts: one heap for all threads (docs/adr/0026).
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1
# User `nonroot` of the base image, by number, so that platforms that forbid root can check it.
USER 65532:65532
EXPOSE 9464
# Healthy even while Kafka or the service is unavailable; unhealthy only if the process is stuck. Set HTTP_PORT if http.port is not
# 9464. For `sandbox`, which serves no /livez, use --no-healthcheck.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.HTTP_PORT || 9464) + '/livez', { signal: AbortSignal.timeout(4000) }).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# There is no shell in between, so SIGTERM reaches Node, and the connector leaves its group before it exits. Node's option is the
# same as in the first line of src/cli/main.ts: a small young generation keeps memory use flat.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--max-semi-space-size=8", "dist/src/cli/main.js"]
CMD ["run", "--config", "/etc/content-review-connector/config.yaml"]
# These values come last, because they change with each build.
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=unknown
ARG BASE_IMAGE
LABEL org.opencontainers.image.title="Content Review Connector" \
      org.opencontainers.image.description="Connects Kafka topics with a Content Review Service: exactly one decision or dead letter for each event." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
