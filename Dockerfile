# docker build -t content-review-connector .
# docker run --rm -v "$PWD/connector.yaml:/etc/content-review-connector/config.yaml:ro" content-review-connector
#
# In the configuration set http.host to 0.0.0.0, so that metrics and health can be reached from outside the container.

FROM node:26-slim AS build
WORKDIR /build
# First what changes seldom: the layer with the dependencies is then reused.
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:26-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY LICENSE ./
# The image's user `node`, by number: a platform that demands a user other than root can check a number.
USER 1000:1000
EXPOSE 9464
# Live even while Kafka or the service is away; dead only when the process is stuck. HTTP_PORT is for a http.port other than
# 9464. For `sandbox`, which serves no /livez, use --no-healthcheck.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.HTTP_PORT || 9464) + '/livez', { signal: AbortSignal.timeout(4000) }).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without a shell in between: SIGTERM reaches Node, and the connector leaves its group before it exits. The option of Node is the
# one that the first line of src/cli/main.ts gives: a small young generation keeps memory flat.
STOPSIGNAL SIGTERM
# As the first line of src/cli/main.ts has it: one heap for all threads (docs/adr/0005).
ENV MALLOC_ARENA_MAX=1
ENTRYPOINT ["node", "--max-semi-space-size=4", "dist/cli/main.js"]
CMD ["run", "--config", "/etc/content-review-connector/config.yaml"]
