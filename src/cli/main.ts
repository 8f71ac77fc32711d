import { CHILD_VARIABLE } from '../program/child-process.ts';
import { programVersion } from '../program/version.ts';
import { EXIT } from './command.ts';
import { commandNamed, loadCommands } from './commands.ts';
import { codedError, reportError } from './failure.ts';
import { renderCommands, renderHelp } from './help.ts';
import { outputColumns } from './terminal.ts';

async function help(name: string | undefined): Promise<number> {
  const columns = outputColumns();
  const text =
    name === undefined
      ? renderCommands(await loadCommands(), columns)
      : renderHelp(name, await commandNamed(name), columns);
  process.stdout.write(text);
  return EXIT.ok;
}

function version(): number {
  process.stdout.write(`tapeworks ${programVersion()}, Node ${process.versions.node}\n`);
  return EXIT.ok;
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return help(rest[0]);
  if (name === '--version' || name === '-V') return version();
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (own.includes('--help') || own.includes('-h')) return help(name);
  return (await commandNamed(name)).run(rest);
}

if (process.env[CHILD_VARIABLE] !== undefined) {
  process.stdin.once('close', () => process.kill(process.pid, 'SIGTERM')).resume();
  // Listening for that must not keep a finished command from ending.
  (process.stdin as { unref?(): void }).unref?.();
}

// A reader that has seen enough (`| head`) closes the pipe (EPIPE), and a terminal that is gone takes nothing (EIO); the
// command is then done, not broken. One that has servers to stop is asked to stop them; by a terminal it was asked already.
let isReaderGone = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    if (process.listenerCount('SIGTERM') === 0) process.exit(EXIT.ok);
    if (!isReaderGone && error.code === 'EPIPE') process.kill(process.pid, 'SIGTERM');
    isReaderGone = true;
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = reportError(codedError(error), process.argv.includes('--json'), process.argv[2]);
}
