import { isIP } from 'node:net';
import { type Checker, type LocatedConfiguration, showDuration, showSize } from './checker.ts';

export function checkKernel(check: Checker, { kernel }: LocatedConfiguration): void {
  const { document, value } = kernel;
  const unsafe = { code: 'TW_CONFIG_UNSAFE' } as const;

  checkPorts(check, kernel);
  for (const name of ['http', 'grpc'] as const) {
    const safe = isLoopback(value[name].host) || (value.tls !== undefined && value.auth.tokenFile !== undefined);
    const expected = 'a loopback address, or tls and auth.tokenFile beside it';
    check.expect(safe, document, [name, 'host'], expected, value[name].host, unsafe);
  }
  const controlled = !value.control.enabled || value.auth.tokenFile !== undefined;
  check.expect(controlled, document, ['control', 'enabled'], 'auth.tokenFile beside it', true, unsafe);

  for (const name of ['postgres', 'redis'] as const) {
    const { url, passwordFile } = value.servers[name];
    const path = ['servers', name, 'url'];
    check.expect(
      !hasPassword(url),
      document,
      path,
      'a URL without a password',
      { text: 'one with it' },
      {
        ...unsafe,
        suggestion: `put it into servers.${name}.passwordFile`,
      },
    );
    const used = passwordFile === undefined || url !== 'embedded';
    check.expect(used, document, ['servers', name, 'passwordFile'], 'a url of your own server beside it', passwordFile);
  }
  checkDurations(check, kernel);
  checkSizes(check, kernel);
}

function checkPorts(check: Checker, { document, value }: LocatedConfiguration['kernel']): void {
  const taken = new Map<number, string>();
  for (const name of ['http', 'grpc', 'simulation'] as const) {
    const { port } = value[name];
    const other = taken.get(port);
    check.expect(other === undefined, document, [name, 'port'], `another port than ${other}.port`, port);
    if (port !== 0) taken.set(port, name);
  }
}

function checkDurations(check: Checker, { document, value }: LocatedConfiguration['kernel']): void {
  const atLeast = (path: string[], actual: number, name: string, least: number) =>
    check.expect(actual >= least, document, path, `at least ${name} (${showDuration(least)})`, {
      text: showDuration(actual),
    });
  const { sink, shutdown, topology } = value;
  atLeast(['sink', 'queryTimeout'], sink.queryTimeout, 'sink.statementTimeout', sink.statementTimeout);
  atLeast(['sink', 'statementTimeout'], sink.statementTimeout, 'sink.lockTimeout', sink.lockTimeout);
  atLeast(['sink', 'breaker', 'probeMax'], sink.breaker.probeMax, 'sink.breaker.probeMin', sink.breaker.probeMin);
  atLeast(['shutdown', 'deadline'], shutdown.deadline, 'shutdown.drain', shutdown.drain);
  atLeast(['topology', 'healthDeadline'], topology.healthDeadline, 'topology.stableFor', topology.stableFor);
}

function checkSizes(check: Checker, { document, value }: LocatedConfiguration['kernel']): void {
  const atLeast = (path: string[], actual: number, name: string, least: number) =>
    check.expect(actual >= least, document, path, `at least ${name} (${showSize(least)})`, { text: showSize(actual) });
  const { ingest, sink, spill } = value;
  atLeast(['sink', 'batchBytes'], sink.batchBytes, 'ingest.maxEntry', ingest.maxEntry);
  atLeast(['ingest', 'inFlightBytes'], ingest.inFlightBytes, 'sink.batchBytes', sink.batchBytes);
  atLeast(['spill', 'segmentBytes'], spill.segmentBytes, 'ingest.maxEntry', ingest.maxEntry);
  atLeast(['spill', 'maxBytes'], spill.maxBytes, 'two segments', 2 * spill.segmentBytes);
  const enough = ingest.inFlightMessages >= sink.batchRows;
  const expected = `at least sink.batchRows (${sink.batchRows})`;
  check.expect(enough, document, ['ingest', 'inFlightMessages'], expected, ingest.inFlightMessages);
}

/** An IPv6 address may stand in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return ['::1', '[::1]', 'localhost'].includes(host);
}

function hasPassword(url: string): boolean {
  if (url === 'embedded') return false;
  try {
    const parsed = new URL(url);
    return parsed.password !== '' || parsed.searchParams.has('password');
  } catch {
    return /:[^/@]*@/.test(url.replace(/^\w+:\/\//, ''));
  }
}
