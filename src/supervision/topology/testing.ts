import { renderIssue } from '../../protocols/config-issue.ts';
import { type Configuration, checkConfiguration } from './load.ts';

/** A configuration in memory for tests: what is not given is as good as empty. */
export interface WrittenFiles {
  readonly kernel?: string | Uint8Array;
  readonly topology?: string | Uint8Array;
  readonly modules?: Readonly<Record<string, string>>;
}

/** The venues, as far as tests of the configuration go by them. */
export const KNOWN = {
  venues: [
    { id: 'binance', makesBars: true, tellsSymbols: true },
    { id: 'bitstamp', makesBars: true, tellsSymbols: false },
    { id: 'kraken', makesBars: false, tellsSymbols: false },
    { id: 'coinbase', makesBars: false, tellsSymbols: false },
  ],
} as const;

function check({ kernel = '{}', topology = '{}', modules = {} }: WrittenFiles) {
  const files = new Map<string, Uint8Array>();
  const bytes = (content: string | Uint8Array) => (typeof content === 'string' ? Buffer.from(content) : content);
  files.set('kernel.yaml', bytes(kernel));
  files.set('topology.yaml', bytes(topology));
  for (const [name, content] of Object.entries(modules)) files.set(`modules.d/${name}`, bytes(content));
  return checkConfiguration(files, KNOWN, (name) => `config/${name}`);
}

/** Every message that the files get, in order. */
export function messagesFor(files: WrittenFiles): readonly string[] {
  const checked = check(files);
  return checked.ok ? [] : checked.issues.map((issue) => `${issue.code} ${renderIssue(issue)}`);
}

export function configurationFrom(files: WrittenFiles): Configuration {
  const checked = check(files);
  if (checked.ok) return checked.value;
  throw new Error(checked.issues.map(renderIssue).join('\n'));
}
