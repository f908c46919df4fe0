/** Token endpoint that issues unsigned tokens, which the test broker accepts. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TokenServer {
  readonly url: string;
  /** Requests, oldest first: the form-encoded body, and the `id:secret` of basic authentication. */
  readonly requests: { readonly form: URLSearchParams; readonly login: string }[];
  /** Returns the next response. */
  answer: (count: number) => { readonly status: number; readonly body: string } | 'hang';
  close(): Promise<void>;
}

/** Returns a token for brokers with the unsecured validator. */
export function unsignedToken(subject: string, lifetimeMs: number): string {
  const nowS = Date.now() / 1_000;
  const part = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: nowS - 1, exp: nowS + lifetimeMs / 1_000 })}.`;
}

export const tokenAnswer = (token: string, lifetimeMs: number) => ({
  status: 200,
  body: JSON.stringify({
    access_token: token,
    token_type: 'Bearer',
    expires_in: lifetimeMs / 1_000,
  }),
});

export async function tokenServer(answer: TokenServer['answer']): Promise<TokenServer> {
  const requests: TokenServer['requests'] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const login = Buffer.from(
        (request.headers.authorization ?? '').replace('Basic ', ''),
        'base64',
      ).toString();
      requests.push({ form: new URLSearchParams(body), login });
      const given = self.answer(requests.length);
      if (given !== 'hang')
        response.writeHead(given.status, { 'content-type': 'application/json' }).end(given.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const self: TokenServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    requests,
    answer,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return self;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request) body += String(part);
  return body;
}
