import type { IncomingMessage } from 'node:http';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { FAULT_KINDS, type FaultRequest } from './faults.ts';
import { json, type RestAnswer } from './simulated-venue.ts';
import type { Simulator } from './simulator.ts';

const BODY_BYTES_MOST = 64 << 10;

/**
 * The simulator's own endpoints:
 *
 *   GET    /_sim/status            what runs, who listens, which faults struck how often
 *   GET    /_sim/faults            the kinds of faults and what they do
 *   POST   /_sim/faults            {"kind":"gap","venue":"binance","symbol":"BTCUSDT","count":3}
 *   DELETE /_sim/faults            ends all faults
 *   GET    /_sim/sent?venue=&stream=&sequence=    when a frame was sent, by process.hrtime
 */
export async function answerControl(
  simulator: Simulator,
  path: string,
  query: URLSearchParams,
  request: IncomingMessage,
): Promise<RestAnswer | undefined> {
  try {
    switch (`${request.method} ${path}`) {
      case 'GET /_sim/status':
        return json(simulator.status());
      case 'GET /_sim/faults':
        return json(FAULT_KINDS);
      case 'POST /_sim/faults':
        simulator.fault(await readBody(request));
        return json({ ok: true });
      case 'DELETE /_sim/faults':
        simulator.clearFaults();
        return json({ ok: true });
      case 'GET /_sim/sent': {
        const [venue = '', stream = '', sequence = ''] = ['venue', 'stream', 'sequence'].map(
          (name) => query.get(name) ?? '',
        );
        return json({ sent_ns: simulator.truth.sentNs(venue, stream, sequence)?.toString() ?? null });
      }
      default:
        return undefined;
    }
  } catch (error) {
    if (!(error instanceof TapeworksError)) throw error;
    return json({ code: error.code, message: error.message, remedy: error.remedy }, 400);
  }
}

async function readBody(request: IncomingMessage): Promise<FaultRequest> {
  if (request.headers['content-type']?.startsWith('application/json') !== true) {
    throw new TapeworksError('TW_SIM_BAD_FAULT', 'the body must be application/json');
  }
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > BODY_BYTES_MOST) throw new TapeworksError('TW_SIM_BAD_FAULT', 'the body is too long');
  }
  try {
    return JSON.parse(text) as FaultRequest;
  } catch {
    throw new TapeworksError('TW_SIM_BAD_FAULT', 'the body is not JSON');
  }
}
