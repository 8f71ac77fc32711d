import { keysIn } from './terminal.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';

/** The whole terminal, until it is given back as it was. */
export class FullScreen {
  readonly #render: (size: { readonly columns: number; readonly rows: number }) => readonly string[];
  readonly #onKeys: (bytes: Buffer) => void;

  /** `onKey` hears each key; the screen is drawn anew after it. */
  constructor(
    render: (size: { readonly columns: number; readonly rows: number }) => readonly string[],
    onKey: (key: string) => void,
  ) {
    this.#render = render;
    this.#onKeys = (bytes) => {
      for (const key of keysIn(bytes.toString('utf8'))) onKey(key);
      this.draw();
    };
    process.stdin.setRawMode(true).resume().on('data', this.#onKeys);
    process.stdout.on('resize', this.draw);
    process.stdout.write(ENTER);
  }

  readonly draw = (): void => {
    const { columns = 80, rows = 24 } = process.stdout;
    const screen = this.#render({ columns, rows });
    process.stdout.write(`\u001b[H${screen.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`);
  };

  leave(): void {
    process.stdin.setRawMode(false).pause().off('data', this.#onKeys);
    process.stdout.off('resize', this.draw);
    process.stdout.write(LEAVE);
  }
}
