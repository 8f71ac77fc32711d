// A page as its reader would follow it. What a command is expected to do stands before its block, in a comment that the
// rendered page does not show:
//
//   <!-- walk: background, until "Tapeworks is up" -->   it goes on running while the rest is followed
//   <!-- walk: until "BTC-USD #" -->                     it is stopped once it has printed this
//   <!-- walk: exit 2 -->                                it ends with this code instead of 0
//   <!-- walk: if grpcurl -->                            only where this program is installed
//   <!-- walk: not here, it needs a server elsewhere --> never, and why
//   <!-- walk: output -->                                the next block is what the last command prints, more or less
//   <!-- walk: check curl -fs localhost:9090/ready -->   the sentence before is true once this command succeeds

export type Expectation =
  | { readonly kind: 'exit'; readonly code: number; readonly needs: string | undefined }
  | { readonly kind: 'until'; readonly text: string; readonly needs: string | undefined }
  | { readonly kind: 'background'; readonly text: string }
  | { readonly kind: 'not-here'; readonly reason: string };

export type Step = { readonly line: number } & (
  | { readonly kind: 'command'; readonly command: string; readonly expects: Expectation }
  | { readonly kind: 'output'; readonly lines: readonly string[] }
  | { readonly kind: 'check'; readonly command: string }
);

export interface Page {
  readonly file: string;
  readonly steps: readonly Step[];
  /** Commands in the running text and in tables. */
  readonly inline: readonly { readonly line: number; readonly command: string }[];
  readonly links: readonly { readonly line: number; readonly target: string }[];
  /** Of the headings, as links spell them. */
  readonly anchors: readonly string[];
  /** Annotations that say nothing, and blocks without a language. */
  readonly mistakes: readonly string[];
}

const EXIT_OK: Expectation = { kind: 'exit', code: 0, needs: undefined };
const SHELL = new Set(['sh', 'bash']);
const KNOWN = new Set([...SHELL, 'text', 'json', 'yaml', 'ts', 'python', 'sql', 'proto']);

export function readPage(file: string, text: string): Page {
  const steps: Step[] = [];
  const mistakes: string[] = [];
  const prose: string[] = [];
  let block: { language: string; from: number; lines: string[] } | undefined;
  let note: Note | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const number = at + 1;
    const fence = /^```(\S*)\s*$/.exec(line);
    prose[at] = block === undefined && fence === null ? line : '';
    if (block !== undefined) {
      if (fence === null) block.lines.push(line);
      else {
        steps.push(...stepsOf(block, note));
        if (!KNOWN.has(block.language)) mistakes.push(`${file}:${block.from} the block has no language that is known`);
        block = undefined;
        note = undefined;
      }
    } else if (fence !== null) block = { language: fence[1] ?? '', from: number, lines: [] };
    else if (line.startsWith('<!-- walk:')) {
      const read = readNote(line);
      if (read === undefined) mistakes.push(`${file}:${number} the annotation says nothing that is known: ${line}`);
      else if (read.kind === 'check') steps.push({ kind: 'check', line: number, command: read.command });
      else note = read;
    }
  }
  return { file, steps, mistakes, ...proseOf(prose) };
}

type Note = Expectation | { readonly kind: 'output' } | { readonly kind: 'check'; readonly command: string };

function readNote(line: string): Note | undefined {
  const text = /^<!-- walk: (.*) -->$/.exec(line)?.[1];
  if (text === undefined) return undefined;
  if (text === 'output') return { kind: 'output' };
  const check = /^check (.+)$/.exec(text);
  if (check !== null) return { kind: 'check', command: check[1]! };
  const not = /^not here, (.+)$/.exec(text);
  if (not !== null) return { kind: 'not-here', reason: not[1]! };
  const background = /^background, until "(.+)"$/.exec(text);
  if (background !== null) return { kind: 'background', text: background[1]! };
  const rest = /^(?:if (\S+))?(?:(?:^|, )until "(.+)"|(?:^|, )exit (\d+))?$/.exec(text);
  if (rest === null) return undefined;
  const needs = rest[1];
  return rest[2] === undefined
    ? { kind: 'exit', code: Number(rest[3] ?? 0), needs }
    : { kind: 'until', text: rest[2], needs };
}

function stepsOf(block: { language: string; from: number; lines: string[] }, note: Note | undefined): Step[] {
  if (note?.kind === 'output') return [{ kind: 'output', line: block.from, lines: block.lines }];
  if (!SHELL.has(block.language)) return [];
  const expects = note === undefined || note.kind === 'check' ? EXIT_OK : note;
  return joined(block.lines).map(({ command, offset }) => ({
    ...{ kind: 'command', line: block.from + 1 + offset, command, expects },
  }));
}

/** Lines without their comments; a backslash at the end goes on with the next. */
function joined(lines: readonly string[]): { command: string; offset: number }[] {
  const commands: { command: string; offset: number }[] = [];
  let open: { command: string; offset: number } | undefined;
  for (const [offset, line] of lines.entries()) {
    const bare = line.replace(/(^|\s)# .*$/, '').trimEnd();
    const command: string = open === undefined ? bare : `${open.command} ${bare.trim()}`;
    const start = open?.offset ?? offset;
    open = command.endsWith('\\') ? { command: command.slice(0, -1).trimEnd(), offset: start } : undefined;
    if (open === undefined && command.trim() !== '') commands.push({ command, offset: start });
  }
  return commands;
}

function proseOf(lines: readonly string[]): Pick<Page, 'inline' | 'links' | 'anchors'> {
  const numbered = lines.map((text, at) => ({ line: at + 1, text }));
  return {
    inline: numbered.flatMap(({ line, text }) =>
      [...text.matchAll(/`((?:npx tapeworks|tapeworks|npm run) [^`]+|npm (?:start|test)[^`]*)`/g)].map((match) => ({
        ...{ line, command: match[1]! },
      })),
    ),
    links: numbered.flatMap(({ line, text }) =>
      [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({ line, target: match[1]! })),
    ),
    anchors: numbered.flatMap(({ text }) => {
      const heading = /^#+ (.+)$/.exec(text)?.[1];
      return heading === undefined
        ? []
        : [
            heading
              .toLowerCase()
              .replace(/[^\w\- ]/g, '')
              .replaceAll(' ', '-'),
          ];
    }),
  };
}

/**
 * Whether the lines of a sample stand in an output, in their order: figures with their units, spaces
 * and `...` may be others.
 */
export function looselyContains(output: string, sample: readonly string[]): boolean {
  const lines = output.split('\n');
  let at = 0;
  for (const wanted of sample.filter((line) => line.trim() !== '')) {
    const pattern = loosePattern(wanted);
    while (at < lines.length && !pattern.test(lines[at]!)) at++;
    if (at++ >= lines.length) return false;
  }
  return true;
}

export function loosePattern(line: string): RegExp {
  const loose = line
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/(?:\\\.){3}|…/g, '.*')
    .replace(/\d+(?:(?:\\\.|,)\d+)*(?:(?:us|ms|min|[skMGhd])\b)?/g, '-?[\\d.,]+(?:us|ms|min|[skMGhd])?')
    .replace(/\s+/g, '\\s+');
  return new RegExp(loose);
}
