import { type ParseArgsConfig, parseArgs } from 'node:util';
import { TapeworksError } from '../protocols/errors/index.ts';

/** Reads a command's options and at most so many other words; what does not fit is a usage error, not a stack trace. */
export function readArguments<const O extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: O,
  wordsMax: number,
) {
  const parsed = parsedOrUsage(args, options);
  if (parsed.positionals.length > wordsMax) {
    throw new TapeworksError('TW_BAD_USAGE', `"${parsed.positionals[wordsMax]}" is one word too many`);
  }
  return parsed;
}

function parsedOrUsage<const O extends NonNullable<ParseArgsConfig['options']>>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TapeworksError('TW_BAD_USAGE', error.message.split('. ')[0] ?? error.message);
  }
}
