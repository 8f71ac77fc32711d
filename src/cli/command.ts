/** A command of `tapeworks`. One file a command, loaded only when it is called. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** Usage, options and at least one example, as `tapeworks help NAME` prints them. */
  readonly help: string;
  /** Runs with the arguments after the command's name; the answer is the exit code (see EXIT). */
  run(args: readonly string[]): Promise<number>;
}

/** Exit codes that scripts can rely on; numbers above 63 follow sysexits(3). */
export const EXIT = { ok: 0, failed: 1, changes: 2, usage: 64, unavailable: 69, internal: 70, config: 78 } as const;
