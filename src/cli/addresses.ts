// Where the running program is to be found when nobody says: where the configuration in this folder puts it.
import type { OptionSpec } from './command.ts';
import { CONFIG_FOLDER, usualConfiguration } from './configuration.ts';

const CONSOLE_URL = 'http://127.0.0.1:9090';
export const GRPC_ADDRESS = '127.0.0.1:50051';

export const URL_OPTION = {
  type: 'string',
  value: 'URL',
  about: `address of the running system (that of ${CONFIG_FOLDER}/kernel.yaml, else ${CONSOLE_URL})`,
} as const satisfies OptionSpec;

/** The one given, else the HTTP address of the configuration, else the usual one. */
export async function consoleUrl(given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const kernel = (await usualConfiguration())?.kernel;
  if (kernel === undefined || kernel.http.port === 0) return CONSOLE_URL;
  return `${kernel.tls === undefined ? 'http' : 'https'}://${reachable(kernel.http.host)}:${kernel.http.port}`;
}

/** The same for gRPC. */
export async function grpcAddress(given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const kernel = (await usualConfiguration())?.kernel;
  return kernel === undefined || kernel.grpc.port === 0
    ? GRPC_ADDRESS
    : `${reachable(kernel.grpc.host)}:${kernel.grpc.port}`;
}

/** A server that listens on every address is asked on the loopback one; its certificate is for a name. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
