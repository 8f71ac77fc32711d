// The container's health check: 0 while /health answers OK or DEGRADED. The certificate in front is our own, so it is
// trusted by its file and not by its name.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';

const url = process.env.TAPEWORKS_HEALTH_URL ?? 'https://127.0.0.1:9090/health';
const ca = readFileSync(process.env.TAPEWORKS_HEALTH_CERT ?? '/run/secrets/tls_cert');
const call = request(url, { ca, checkServerIdentity: () => undefined, timeout: 4_000 }, (answer) => {
  answer.resume();
  process.exitCode = answer.statusCode === 200 ? 0 : 1;
});
call.on('timeout', () => call.destroy(new Error('no answer')));
call.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
call.end();
