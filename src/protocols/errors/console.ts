import type { ErrorEntry } from './index.ts';

export const CONSOLE_ERRORS = {
  TW_PORT_TAKEN: {
    means: 'A port that the configuration names is held by another program.',
    remedy: 'Stop that program, or set another port in config/kernel.yaml: http.port, grpc.port, simulation.port.',
  },
  TW_BIND_REFUSED: {
    means: 'The machine does not let a server listen on the configured address.',
    remedy: 'Use an address of this machine and a port above 1023, or grant the right to bind lower ones.',
  },
  TW_BIND_UNSAFE: {
    means: 'The console was asked to listen beyond this machine, or to take commands, without what protects it.',
    remedy: 'Bind to 127.0.0.1, or give tls and auth.tokenFile; control always needs auth.tokenFile.',
  },
  TW_TOKEN_FILE: {
    means:
      'The file with the bearer token is missing, unreadable, or holds no token of 16 to 1024 printable characters.',
    remedy: 'Write one, for instance with `openssl rand -hex 32 > FILE && chmod 600 FILE`.',
  },
  TW_TLS_FILE: {
    means: 'A certificate or key file is missing, unreadable, or not what it should be.',
    remedy: 'Check the paths under tls in config/kernel.yaml; both files are PEM and belong together.',
  },
  TW_DASHBOARD_MISSING: {
    means: 'The files of the dashboard have not been built.',
    remedy: 'Run `node scripts/build.mjs`; API, health and metrics work without them.',
  },
  TW_HTTP_HOST: {
    means: 'The Host header of a request names neither the address of the console nor an allowed name.',
    remedy: 'Open the console under its own address, or add the name to http.allowedHosts in config/kernel.yaml.',
  },
  TW_HTTP_ORIGIN: {
    means: 'A request that would change something comes from a page of another site.',
    remedy: 'Send it from the dashboard itself, or from a program that sets no Origin header.',
  },
  TW_HTTP_UNAUTHORIZED: {
    means: 'The request carries no bearer token, or a wrong one.',
    remedy: 'Send `Authorization: Bearer TOKEN` with the content of the file named by auth.tokenFile.',
  },
  TW_HTTP_CONTROL_OFF: {
    means: 'Endpoints that change the running system are switched off.',
    remedy: 'Set control.enabled and auth.tokenFile in config/kernel.yaml and restart.',
  },
  TW_HTTP_NOT_FOUND: {
    means: 'There is nothing under this path.',
    remedy: 'Check the spelling; / is the dashboard, and beside it are /health, /ready and /metrics.',
  },
  TW_HTTP_METHOD: {
    means: 'The path exists, but not for this method.',
    remedy: 'Use a method that the Allow header names.',
  },
  TW_HTTP_MEDIA_TYPE: {
    means: 'The body of a request is not declared as JSON.',
    remedy: 'Send `Content-Type: application/json`, in UTF-8 and without a content encoding.',
  },
  TW_HTTP_BODY: {
    means: 'The body of a request is not the JSON object that the endpoint takes.',
    remedy: 'The message names what is missing or wrong.',
  },
  TW_HTTP_TOO_LARGE: {
    means: 'The body of a request is larger than http.maxBody.',
    remedy: 'Send less, or raise http.maxBody in config/kernel.yaml.',
  },
  TW_HTTP_BAD_REQUEST: {
    means: 'The request breaks a rule of HTTP, or asks in a form that the console does not take.',
    remedy: 'The message names the rule.',
  },
  TW_HTTP_HEADERS: {
    means: 'The header of a request is larger than the console takes.',
    remedy: 'Send fewer or shorter headers; cookies are never needed here.',
  },
  TW_HTTP_TOO_MANY: {
    means: 'As many live dashboards are open as http.maxDashboards allows.',
    remedy: 'Close one, or raise http.maxDashboards in config/kernel.yaml.',
  },
  TW_HTTP_NO_SOURCE: {
    means: 'The part of the system that the request asks about is not running here.',
    remedy: 'Look at /health for what runs, and at the topology for what is configured.',
  },
  TW_CONSOLE_UNREACHABLE: {
    means: 'No console answers at the address.',
    remedy: 'Start the system with `tapeworks up`, or name the address with --url.',
  },
} as const satisfies Record<string, ErrorEntry>;
