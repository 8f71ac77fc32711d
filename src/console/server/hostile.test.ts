import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Refusal } from '../../protocols/console-api.ts';
import { type Bench, openConsole, sendRaw, TOKEN, tokenFile } from './testing.ts';

let bench: Bench;
let port: number;
beforeAll(async () => {
  bench = await openConsole({ control: true, tokenFile: tokenFile() });
  port = bench.console.port;
});
afterAll(() => bench.stop());

interface Request {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Buffer;
}

/** A request that would be served, but for what the case changes. `undefined` leaves a header out. */
function bytesOf({ method = 'GET', target = '/api/pulse', headers = {}, body }: Request): Buffer {
  const all: Record<string, string | undefined> = {
    Host: `127.0.0.1:${port}`,
    Connection: 'close',
    ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    Buffer.from(body ?? ''),
  ]);
}

const restart = JSON.stringify({ action: 'restart', path: '/jobs/counter' });
const control = {
  method: 'POST',
  target: '/api/control/actor',
  headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}` },
  body: restart,
};
const with_ = (changes: Record<string, string | undefined>, body: string | Buffer = restart): Request => ({
  ...control,
  headers: { ...control.headers, ...changes },
  body,
});

const CASES: readonly (readonly [what: string, request: Request | string, status: number, code?: string])[] = [
  ['the Host of another site', { headers: { Host: 'evil.example' } }, 403, 'TW_HTTP_HOST'],
  ['a Host that begins like ours', { headers: { Host: '127.0.0.1.evil.example' } }, 403, 'TW_HTTP_HOST'],
  ['a Host with a user in it', { headers: { Host: '127.0.0.1@evil.example' } }, 403, 'TW_HTTP_HOST'],
  ['an empty Host', { headers: { Host: '' } }, 403, 'TW_HTTP_HOST'],
  ['no Host', { headers: { Host: undefined } }, 400],
  ['two Hosts', `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n`, 400, 'TW_HTTP_BAD_REQUEST'],
  ['a Host of another site on a static file', { target: '/', headers: { Host: 'evil.example' } }, 403, 'TW_HTTP_HOST'],
  ['an absolute target', { target: 'http://127.0.0.1/api/pulse' }, 400, 'TW_HTTP_BAD_REQUEST'],
  ['the target *', { method: 'OPTIONS', target: '*' }, 400, 'TW_HTTP_BAD_REQUEST'],
  ['a page of another site that reads', { headers: { 'Sec-Fetch-Site': 'cross-site' } }, 403, 'TW_HTTP_ORIGIN'],
  ['a path that climbs', { target: '/../../etc/passwd' }, 404, 'TW_HTTP_NOT_FOUND'],
  ['a path that climbs in disguise', { target: '/assets/%2e%2e/%2e%2e/etc/passwd' }, 404, 'TW_HTTP_NOT_FOUND'],
  ['a path with backslashes', { target: '/..\\..\\etc\\passwd' }, 404, 'TW_HTTP_NOT_FOUND'],
  ['a path with an encoded zero byte', { target: '/index.html%00.js' }, 404, 'TW_HTTP_NOT_FOUND'],
  ['a path of a prototype', { target: '/__proto__' }, 404, 'TW_HTTP_NOT_FOUND'],
  ['a doubled slash', { target: '//evil.example/api/pulse' }, 404, 'TW_HTTP_NOT_FOUND'],
  ['a very long path', { target: `/${'a'.repeat(3000)}` }, 414, 'TW_HTTP_BAD_REQUEST'],
  ['a method that the path does not take', { method: 'DELETE' }, 405, 'TW_HTTP_METHOD'],
  ['TRACE', { method: 'TRACE', target: '/' }, 405, 'TW_HTTP_METHOD'],
  ['a preflight', { method: 'OPTIONS', headers: { Origin: 'http://evil.example' } }, 403, 'TW_HTTP_ORIGIN'],
  ['a GET with a body', { body: '{}' }, 400, 'TW_HTTP_BAD_REQUEST'],
  ['a header of 20 KB', { headers: { Cookie: 'x'.repeat(20_000) } }, 431],
  ['70 headers', { headers: Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`X-${at}`, '1'])) }, 431],
  ['a method that does not exist', `JUMP / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`, 400],
  ['bytes that are not HTTP', `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03`, 400],
  ['a header with a bare line feed', `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\nY: b\0\r\n\r\n`, 400],
  ['a header with a space before its colon', `GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n`, 400],
  ['an unfinished request', 'POST /api/control/actor HTTP/1.1\r\nHost: 127', 408],
  ['an unknown expectation', with_({ Expect: 'the-unexpected' }), 417],
  ['an actor that is not there', { target: '/api/actors/detail?path=/nobody' }, 404, 'TW_UNKNOWN_ACTOR'],
  ['a detail of nothing', { target: '/api/actors/detail' }, 400, 'TW_HTTP_BAD_REQUEST'],
  ['a parameter given twice', { target: '/api/actors/detail?path=/a&path=/b' }, 400, 'TW_HTTP_BAD_REQUEST'],
  ['a live topic that is not there', { target: '/api/live?topics=pulse,__proto__' }, 404, 'TW_HTTP_NO_SOURCE'],
  ['a topic with a line feed', { target: '/api/live?topics=pulse%0Adata:x' }, 404, 'TW_HTTP_NO_SOURCE'],
  ['the same topic many times', { target: '/api/live?topics=pulse,pulse' }, 400, 'TW_HTTP_BAD_REQUEST'],
  ['a plane that does not run', { target: '/api/books' }, 404, 'TW_HTTP_NO_SOURCE'],
  ['control by GET', { ...control, method: 'GET', body: '' }, 405, 'TW_HTTP_METHOD'],
  ['control from another site', with_({ Origin: 'http://evil.example' }), 403, 'TW_HTTP_ORIGIN'],
  ['control from another port', with_({ Origin: 'http://127.0.0.1:1' }), 403, 'TW_HTTP_ORIGIN'],
  ['control from a sandboxed page', with_({ Origin: 'null' }), 403, 'TW_HTTP_ORIGIN'],
  ['control without a token', with_({ Authorization: undefined }), 401, 'TW_HTTP_UNAUTHORIZED'],
  ['control with a wrong token', with_({ Authorization: 'Bearer wrong' }), 401, 'TW_HTTP_UNAUTHORIZED'],
  ['control with half the token', with_({ Authorization: `Bearer ${TOKEN.slice(0, 9)}` }), 401, 'TW_HTTP_UNAUTHORIZED'],
  ['control with more than the token', with_({ Authorization: `Bearer ${TOKEN}x` }), 401, 'TW_HTTP_UNAUTHORIZED'],
  ['control with the token as password', with_({ Authorization: `Basic ${TOKEN}` }), 401, 'TW_HTTP_UNAUTHORIZED'],
  ['control with an empty token', with_({ Authorization: 'Bearer ' }), 401, 'TW_HTTP_UNAUTHORIZED'],
  ['control as a form', with_({ 'Content-Type': 'application/x-www-form-urlencoded' }), 415, 'TW_HTTP_MEDIA_TYPE'],
  ['control as plain text', with_({ 'Content-Type': 'text/plain' }), 415, 'TW_HTTP_MEDIA_TYPE'],
  ['control without a type', with_({ 'Content-Type': undefined }), 415, 'TW_HTTP_MEDIA_TYPE'],
  ['control in gzip', with_({ 'Content-Encoding': 'gzip' }), 415, 'TW_HTTP_MEDIA_TYPE'],
  ['a body that says it is too large', with_({ 'Content-Length': '999999999' }), 413, 'TW_HTTP_TOO_LARGE'],
  ['a body that is too large', with_({}, `{"x":"${'y'.repeat(5000)}"}`), 413, 'TW_HTTP_TOO_LARGE'],
  [
    'a chunked body that is too large',
    with_(
      { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' },
      `1400\r\n${'y'.repeat(0x1400)}\r\n0\r\n\r\n`,
    ),
    413,
    'TW_HTTP_TOO_LARGE',
  ],
  ['two lengths', with_({ 'Content-Length': '5, 6' }), 400],
  ['a length and chunks', with_({ 'Transfer-Encoding': 'chunked' }, '0\r\n\r\n'), 400],
  ['a body that is not JSON', with_({}, '{"action":'), 400, 'TW_HTTP_BODY'],
  ['a body that is not UTF-8', with_({}, Buffer.from([0x22, 0xc3, 0x28, 0x22])), 400, 'TW_HTTP_BODY'],
  ['a body that is a list', with_({}, '[]'), 400, 'TW_HTTP_BODY'],
  [
    'a body without its fields',
    with_({}, '{"__proto__":{"action":"restart","path":"/jobs/counter"}}'),
    400,
    'TW_HTTP_BODY',
  ],
  ['an action that is a method', with_({}, '{"action":"stop","path":"/"}'), 400, 'TW_HTTP_BODY'],
  ['an actor that is a number', with_({}, '{"action":"restart","path":7}'), 400, 'TW_HTTP_BODY'],
  [
    'control of an actor that is not there',
    with_({}, '{"action":"restart","path":"/nobody"}'),
    404,
    'TW_UNKNOWN_ACTOR',
  ],
];

describe('a hostile request gets the right refusal', () => {
  it.each(CASES.map(([what, request, status, code]) => ({ what, request, status, code })))('$what', async (refused) => {
    const { request, status, code } = refused;
    const answer = await sendRaw(port, typeof request === 'string' ? Buffer.from(request, 'latin1') : bytesOf(request));
    expect(answer.status).toBe(status);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    if (code === undefined) return;
    const { code: given } = JSON.parse(answer.body) as Refusal;
    expect(given).toBe(code);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  });

  it('says which methods a path takes, and what proof it wants', async () => {
    const method = await sendRaw(port, bytesOf({ method: 'PUT' }));
    expect(method.headers['allow']).toBe('GET, HEAD');
    const proof = await sendRaw(port, bytesOf(with_({ Authorization: undefined })));
    expect(proof.headers['www-authenticate']).toBe('Bearer realm="tapeworks"');
  });

  it('leaves the system as it was, and no defect behind', () => {
    expect(bench.system.tree().children[0]!.children[0]!.restarts).toBe(0);
    expect(bench.console.counts.defects).toBe(0);
  });

  it('would have been served without what was wrong with it', async () => {
    const answer = await sendRaw(port, bytesOf(with_({ Origin: `http://127.0.0.1:${port}` })));
    expect(answer.status).toBe(200);
    expect((await sendRaw(port, bytesOf({ headers: { Host: 'console.example' } }))).status).toBe(200);
  });
});
