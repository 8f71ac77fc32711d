/** What a shell offers for a value: names it knows, files or folders, or what the configuration names. */
export type Offer = 'file' | 'folder' | 'instrument' | 'venue' | readonly string[];

/** An option as the parser, the help and the shells see it. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly multiple?: true;
  /** What the help calls its value, such as FOLDER. */
  readonly value?: string;
  /** What holds where it is left out; the help adds it in brackets. */
  readonly default?: string | boolean;
  /** One sentence without a full stop. What holds where it is left out, and is no plain value, stands in brackets at its end. */
  readonly about: string;
  readonly offers?: Offer;
}

export type Options = Readonly<Record<string, OptionSpec>>;

/** A word after the command that says what to do, such as `list` in `tapeworks dlq list`. */
export interface Action {
  /** The arguments, as the usage line shows them. */
  readonly usage: string;
  /** The names of its options. */
  readonly options: readonly string[];
  readonly offers?: Offer;
}

/** A command of `tapeworks`. One file a command, loaded only when it is called. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** The usage lines, without `tapeworks NAME`; those of `actions` are added. */
  readonly usage: readonly string[];
  /** What it does, in a paragraph or two. */
  readonly about: string;
  readonly actions?: Readonly<Record<string, Action>>;
  readonly options: Options;
  /** What a shell offers for words that are not options. */
  readonly offers?: Offer;
  /** Tables and remarks that follow the options. */
  readonly notes?: string;
  /** What its exit codes mean; usage errors are added. */
  readonly exits: Readonly<Record<number, string>>;
  readonly examples: readonly string[];
  /** Runs with the arguments after the command's name; the answer is the exit code (see EXIT). */
  run(args: readonly string[]): Promise<number>;
}

/** Exit codes that scripts can rely on; numbers above 63 follow sysexits(3). */
export const EXIT = { ok: 0, failed: 1, changes: 2, usage: 64, unavailable: 69, internal: 70, config: 78 } as const;

/** What the codes mean wherever a command does not say otherwise. */
export const EXIT_MEANS = {
  [EXIT.usage]: 'the command line is wrong',
  [EXIT.unavailable]: 'nobody answers',
  [EXIT.config]: 'a configuration file is wrong',
} as const;

export const JSON_OPTION = { type: 'boolean', about: 'one JSON object instead of text' } as const satisfies OptionSpec;
