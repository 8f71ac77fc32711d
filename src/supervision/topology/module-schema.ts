import { z } from 'zod';
import { duration, flag, list, mapping, section, text } from './leaves.ts';
import { filePath, streamName } from './names.ts';

const variable = (about: string) =>
  text(about, 'an environment variable such as API_KEY', /^[A-Za-z_][A-Za-z0-9_]{0,127}$/);

const credential = section('Where one secret comes from: exactly one of the two.', {
  fromEnv: variable('Variable of our own environment that holds it.').optional(),
  fromFile: filePath('File that holds it.').optional(),
});

/** One file of config/modules.d: an external process that collects events. It is told to the kernel, never supervised. */
export const moduleSchema = section('An external module that adds events to Redis.', {
  name: text(
    'Name of the module, also the source of its liveness.',
    'a name of lower-case letters, digits and dashes',
    /^[a-z][a-z0-9-]{0,63}$/,
  ),
  enabled: flag('Whether its streams are read.').prefault(true),
  streams: list('Streams that it adds to.', 'stream names', streamName('One.'), 1, 64).prefault(['events']),
  command: text('Program that runs it.', 'a program', /^[^\t\n\r]{1,1024}$/),
  args: list('Its arguments.', 'arguments', z.string({ error: 'text' }).describe('One.'), 0, 256).prefault([]),
  env: mapping(
    'Its environment; secrets belong under credentials.',
    'variables to values',
    variable('The variable.'),
    z.string({ error: 'text' }).describe('Its value.'),
  ).prefault({}),
  credentials: mapping(
    'Its secrets, by the variable that it reads them from.',
    'variables to where secrets come from',
    variable('The variable.'),
    credential,
  ).prefault({}),
  silentAfter: duration('Time without a heartbeat after which it is shown as silent.', '1s', '1d').prefault('1m'),
});

export type ModuleConfig = z.output<typeof moduleSchema>;
