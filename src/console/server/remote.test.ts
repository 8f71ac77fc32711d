import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selfSigned } from './self-signed.ts';
import { type Bench, openConsole, sendRaw, TOKEN, tokenFile } from './testing.ts';

// 127.1 is this machine, spelled so that it is not known for loopback: the rules for the world hold, and only we knock.
let bench: Bench;
let cert: string;
beforeAll(async () => {
  const file = tokenFile();
  const [certFile, keyFile] = [join(dirname(file), 'cert.pem'), join(dirname(file), 'key.pem')];
  const identity = selfSigned();
  cert = identity.cert;
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, identity.key, { mode: 0o600 });
  bench = await openConsole({ host: '127.1', tokenFile: file, tls: { certFile, keyFile, clientCaFile: null } });
});
afterAll(() => bench.stop());

// The name in the Host header is what some cases are about, not whether the certificate has it.
const checkServerIdentity = () => undefined;

function get(path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: bench.console.port,
      path,
      headers,
      ca: cert,
      agent: false,
      checkServerIdentity,
    };
    const sent = request(options, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode!, body }));
    });
    sent.on('error', reject).end();
  });
}
const proof = { authorization: `Bearer ${TOKEN}` };

describe('a console that other machines can reach', () => {
  it.each(['/api/pulse', '/api/actors', '/api/events', '/api/live?topics=pulse', '/metrics'])(
    'shows %s only to who has the token',
    async (path) => {
      expect((await get(path)).status).toBe(401);
      expect((await get(path, { authorization: 'Bearer guess' })).status).toBe(401);
      if (!path.includes('live')) expect((await get(path, proof)).status).toBe(200);
    },
  );

  it('tells strangers its health in one word, and reasons only to who has the token', async () => {
    expect(JSON.parse((await get('/health')).body)).toEqual({ status: 'OK' });
    expect(JSON.parse((await get('/health', proof)).body)).toHaveProperty('parts');
  });

  it('does not answer under names that it does not know', async () => {
    expect((await get('/health', { host: 'evil.example' })).status).toBe(403);
    expect((await get('/health', { host: 'console.example' })).status).toBe(200);
  });

  it('does not speak in plain text', async () => {
    const answer = await sendRaw(bench.console.port, 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    expect(answer.body).not.toContain('status');
    expect(answer.status).not.toBe(200);
  });

  it('says which file is no certificate', async () => {
    const tls = { certFile: '/nowhere/cert.pem', keyFile: '/nowhere/key.pem', clientCaFile: null };
    await expect(openConsole({ tls })).rejects.toMatchObject({ code: 'TW_TLS_FILE' });
  });
});
