import { type ParseArgsConfig, parseArgs } from 'node:util';
import { TapeworksError } from '../protocols/errors/index.ts';
import { didYouMean } from '../supervision/topology/nearest.ts';
import type { Action } from './command.ts';

type ParsedOptions = NonNullable<ParseArgsConfig['options']>;

/** Reads a command's options and at most so many other words; what does not fit is a usage error, not a stack trace. */
export function readArguments<const O extends ParsedOptions>(args: readonly string[], options: O, wordsMax: number) {
  const parsed = parsedOrUsage(args, options);
  if (parsed.positionals.length > wordsMax) throw usage(`"${parsed.positionals[wordsMax]}" is one word too many`);
  return parsed;
}

/** The same for a command whose first word says what to do. An option that belongs to another action is refused. */
export function readAction<const O extends ParsedOptions, const A extends Readonly<Record<string, Action>>>(
  args: readonly string[],
  options: O,
  actions: A,
  wordsMax: number,
) {
  const { values, positionals } = readArguments(args, options, wordsMax + 1);
  const [word, ...words] = positionals;
  const names = Object.keys(actions);
  if (word === undefined) throw usage(`say what to do: ${names.join(', ')}`);
  if (!names.includes(word)) throw usage(withHint(`there is no "${word}" here, only ${names.join(', ')}`, word, names));
  const action = word as keyof A & string;
  const isGiven = (name: string) => values[name as keyof typeof values] !== options[name]?.default;
  const stranger = Object.keys(values).find((name) => isGiven(name) && !actions[action]!.options.includes(name));
  if (stranger !== undefined) throw usage(`\`${action}\` takes no --${stranger}`);
  return { action, words, values };
}

function parsedOrUsage<const O extends ParsedOptions>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [sentence = error.message] = error.message.split('. ');
    const unknown = /^Unknown option '(-+)(\S*)'/.exec(sentence);
    if (unknown === null) throw usage(sentence);
    const known = Object.keys(options);
    throw usage(withHint(`there is no option ${unknown[1]}${unknown[2]}`, unknown[2]!, known, '--'));
  }
}

function withHint(text: string, word: string, known: readonly string[], lead = ''): string {
  const hint = didYouMean(
    `${lead}${word}`,
    known.map((name) => `${lead}${name}`),
  );
  return hint === undefined ? text : `${text}; ${hint}`;
}

export function usage(message: string): TapeworksError {
  return new TapeworksError('TW_BAD_USAGE', message);
}
