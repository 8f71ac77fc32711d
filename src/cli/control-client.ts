import { once } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, request as sendPlainly } from 'node:http';
import { request as sendSecurely } from 'node:https';
import { APPLY_ROUTE, type ApplyRequest, PLAN_ROUTE, type TopologyReply } from '../protocols/control-api.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import type { ConfigFiles } from '../supervision/topology/load.ts';
import { authorizationFor, urlOf } from './authorization.ts';

/** An apply takes up to its health deadline (an hour at most) and as long again to roll back; then nobody is there. */
const TIMEOUT_MS = { [PLAN_ROUTE]: 30_000, [APPLY_ROUTE]: 2 * 3_600_000 } as const;
const REPLY_BYTES_MAX = 16 * 2 ** 20;
const KINDS: ReadonlySet<unknown> = new Set<TopologyReply['kind']>([
  ...(['planned', 'applied', 'invalid', 'refused', 'rolled-back', 'rollback-failed', 'error'] as const),
]);

/** Asks the running system, with the token from TAPEWORKS_TOKEN. Whatever is not an answer of its contract is an error. */
export async function askControl(
  base: string,
  route: typeof PLAN_ROUTE | typeof APPLY_ROUTE,
  request: ApplyRequest,
): Promise<TopologyReply> {
  const url = urlOf(base, route);
  const headers = { 'content-type': 'application/json', ...authorizationFor(url) };
  const answer = await post(url, headers, JSON.stringify(request), TIMEOUT_MS[route]);
  const reply = replyOf(answer, url);
  if (reply.kind !== 'error') return reply;
  const code = answer.status === 401 ? 'TW_TOKEN_REFUSED' : 'TW_CONTROL_REFUSED';
  throw new TapeworksError(code, `${answer.status} from ${url.origin}: ${reply.message}`);
}

/** The files as a request carries them; they have passed the checks, so that their bytes are known to be UTF-8. */
export function requestFor(files: ConfigFiles): ApplyRequest {
  return { files: Object.fromEntries([...files].map(([name, bytes]) => [name, new TextDecoder().decode(bytes)])) };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Plain requests, since `fetch` gives an answer up after five minutes, and an apply may well wait longer. */
async function post(url: URL, headers: OutgoingHttpHeaders, body: string, timeoutMs: number): Promise<Answer> {
  const send = url.protocol === 'https:' ? sendSecurely : sendPlainly;
  try {
    const sent = send(url, { method: 'POST', headers, signal: AbortSignal.timeout(timeoutMs) }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await boundedText(response) };
  } catch (error) {
    if (error instanceof TapeworksError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new TapeworksError('TW_CONTROL_UNREACHABLE', `no answer from ${url.origin}: ${why}`);
  }
}

async function boundedText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > REPLY_BYTES_MAX) throw new TapeworksError('TW_CONTROL_PROTOCOL', 'the answer is longer than 16 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function replyOf({ status, text }: Answer, url: URL): TopologyReply {
  try {
    const reply: unknown = JSON.parse(text);
    if (typeof reply === 'object' && reply !== null && 'kind' in reply && KINDS.has(reply.kind)) {
      return reply as TopologyReply;
    }
  } catch {
    // Not JSON: some other server answers at this address.
  }
  const code = [401, 403, 404].includes(status) ? 'TW_CONTROL_REFUSED' : 'TW_CONTROL_PROTOCOL';
  throw new TapeworksError(code, `${url.origin} answered ${status}, and not as the control API does`);
}
