// What there is to complete, as the three shells' scripts are made from it.
import type { Command, Offer } from '../command.ts';

export interface CompletedOption {
  readonly name: string;
  readonly about: string;
  /** What its value is called; undefined where it takes none. */
  readonly value: string | undefined;
  readonly offers: Offer | undefined;
  /** Whether several values may be joined by commas. */
  readonly isList: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  readonly actions: readonly {
    readonly name: string;
    readonly options: readonly string[];
    readonly offers: Offer | undefined;
  }[];
  readonly offers: Offer | undefined;
}

export function completedCommands(commands: readonly (readonly [string, Command])[]): readonly CompletedCommand[] {
  return commands.map(([name, command]) => ({
    name,
    summary: command.summary,
    options: Object.entries(command.options).map(([option, spec]) => ({
      ...{ name: option, about: spec.about, value: spec.type === 'boolean' ? undefined : (spec.value ?? 'VALUE') },
      ...{ offers: spec.offers, isList: spec.value === 'LIST' },
    })),
    actions: Object.entries(command.actions ?? {}).map(([action, { options, offers }]) => ({
      ...{ name: action, options, offers },
    })),
    offers: command.offers,
  }));
}

/**
 * Names the instruments of a topology file that is laid out as ours is: two spaces in, a colon behind. A shell must answer
 * at once, so that nothing is started or parsed for it.
 */
export const INSTRUMENTS_SED = `sed -n '/^instruments:/,/^[^ #]/s/^  \\([A-Za-z0-9._-]*\\):.*/\\1/p'`;
