// What would keep a start from succeeding, found before anything is started: one sentence and its remedy, not a cascade.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ErrorCode, TapeworksError } from '../protocols/errors/index.ts';
import { TokenFile } from '../protocols/token-file.ts';
import type { Configuration } from '../supervision/topology/load.ts';
import { type Finding, finding } from './doctor/finding.ts';
import { judgeFolder, judgePort } from './doctor/judge-places.ts';
import { probeClaims, probeFolder, probePort } from './doctor/probe-places.ts';
import { codedError } from './failure.ts';
import { readSecret, serverUrl } from './server-url.ts';

/** The places that a configuration claims, with paths made whole. */
export function placesOf({ kernel }: Configuration) {
  const data = resolve(kernel.data);
  return {
    data,
    spill: resolve(data, kernel.spill.folder),
    needs: { spillBytes: kernel.spill.maxBytes, minFreeBytes: kernel.spill.minFreeBytes },
    ports: [
      ['HTTP', kernel.http.host, kernel.http.port],
      ['gRPC', kernel.grpc.host, kernel.grpc.port],
      ['simulated venues', '127.0.0.1', kernel.simulation.port],
    ] as const,
  };
}

/** What is wrong with the files that hold the token, the certificate and the passwords. */
export function judgeSecrets({ kernel }: Configuration): Finding[] {
  const { tls, auth, servers } = kernel;
  const wrong: Finding[] = [];
  const attempt = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      const { code, message } = codedError(error);
      wrong.push(finding('configuration', 'failure', code, message));
    }
  };
  if (auth.tokenFile !== undefined) attempt(() => new TokenFile(auth.tokenFile!));
  for (const [key, path] of Object.entries(tls ?? {})) {
    if (path !== undefined) attempt(() => readSecret(`tls.${key}`, path));
  }
  attempt(() => serverUrl('DATABASE_URL', servers.postgres));
  attempt(() => serverUrl('REDIS_URL', servers.redis));
  return wrong;
}

const VENUES_FILE = 'venues';
const VENUES = { simulated: 'simulated', real: 'real' } as const;

/** Notes where the data comes from: made-up prices and real ones must never share a history. */
export function noteVenues(data: string, isLive: boolean): void {
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, VENUES_FILE), `${isLive ? VENUES.real : VENUES.simulated}\n`);
}

function refuseMixture(data: string, isLive: boolean): void {
  const path = join(data, VENUES_FILE);
  const noted = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  const [here, wanted] = isLive ? [VENUES.simulated, VENUES.real] : [VENUES.real, VENUES.simulated];
  if (noted !== here) return;
  const text = `${data} holds data of ${here} venues, and this start is for ${wanted} ones`;
  throw new TapeworksError('TW_DATA_OF_OTHER_VENUES', text);
}

/** Throws the first thing that stands in the way of a start. */
export async function preflight(config: Configuration, isLive: boolean, isReset: boolean): Promise<void> {
  const { data, spill, needs, ports } = placesOf(config);
  const holder = probeClaims(data, spill).find(({ owner }) => owner.isAlive && owner.pid !== process.pid);
  if (holder !== undefined) {
    const text = `tapeworks already runs on ${data}, as process ${holder.owner.pid}`;
    throw new TapeworksError('TW_ALREADY_RUNNING', text);
  }
  if (!isReset) refuseMixture(data, isLive);
  const [secret] = judgeSecrets(config);
  if (secret !== undefined) throw new TapeworksError(secret.code, secret.text);
  const folders = (['data', 'spill'] as const).map((use) => probeFolder(use, use === 'data' ? data : spill));
  refuseOn(
    folders.flatMap((facts) => judgeFolder(facts, { ...needs, isPostgresEmbedded: false })),
    [...(['TW_FOLDER_FOREIGN', 'TW_FOLDER_READ_ONLY', 'TW_DISK_FULL'] as const)],
  );
  const wanted = isLive ? ports.slice(0, 2) : ports;
  const found = await Promise.all(wanted.map(([use, host, port]) => probePort(use, host, port, undefined)));
  refuseOn(found.filter((port) => port !== undefined).map(judgePort), ['TW_PORT_TAKEN']);
}

function refuseOn(findings: readonly Finding[], codes: readonly ErrorCode[]): void {
  const failures = findings.filter(({ severity, code }) => severity === 'failure' && codes.includes(code));
  const [first] = failures;
  if (first === undefined) return;
  const same = failures.filter(({ code }) => code === first.code).map(({ text }) => text);
  throw new TapeworksError(first.code, same.join('; '));
}
