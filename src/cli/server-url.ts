import { readFileSync } from 'node:fs';
import { TapeworksError } from '../protocols/errors/index.ts';
import { reasonOf } from './failure.ts';

/** The user's own server: the one that the environment names, else that of kernel.yaml; undefined means the embedded one. */
export function serverUrl(
  variable: 'DATABASE_URL' | 'REDIS_URL',
  named: { readonly url: string; readonly passwordFile?: string | undefined },
): string | undefined {
  const given = process.env[variable] ?? '';
  if (given !== '') return given;
  return named.url === 'embedded' ? undefined : withPassword(named.url, named.passwordFile);
}

/** The content of a file that a key of kernel.yaml names. */
export function readSecret(key: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new TapeworksError('TW_FILE_UNREADABLE', `${key}: ${reasonOf(error)}`);
  }
}

function withPassword(url: string, passwordFile: string | undefined): string {
  if (passwordFile === undefined) return url;
  const parsed = new URL(url);
  parsed.password = encodeURIComponent(readSecret('passwordFile', passwordFile));
  return parsed.href;
}
