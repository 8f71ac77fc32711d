import { readFileSync } from 'node:fs';

/** The user's own server: the one that the environment names, else that of kernel.yaml; undefined means the embedded one. */
export function serverUrl(
  variable: 'DATABASE_URL' | 'REDIS_URL',
  named: { readonly url: string; readonly passwordFile?: string | undefined },
): string | undefined {
  const given = process.env[variable] ?? '';
  if (given !== '') return given;
  return named.url === 'embedded' ? undefined : withPassword(named.url, named.passwordFile);
}

function withPassword(url: string, passwordFile: string | undefined): string {
  if (passwordFile === undefined) return url;
  const parsed = new URL(url);
  parsed.password = encodeURIComponent(readFileSync(passwordFile, 'utf8').trim());
  return parsed.href;
}
