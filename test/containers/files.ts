import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export const textOf = (path: string): string => readFileSync(`${root}${path}`, 'utf8');
export const yamlOf = (path: string): unknown => parse(textOf(path), { merge: true, strict: true });

export interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly user?: string;
  readonly command?: readonly string[];
  readonly cpuset?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[]; readonly interval: string; readonly timeout: string };
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

/** The instructions of the Dockerfile, lines joined and comments left out. */
export function dockerInstructions(): readonly (readonly [name: string, rest: string])[] {
  return textOf('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1).trim()] as const);
}
