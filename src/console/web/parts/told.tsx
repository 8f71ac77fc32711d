import { For, type JSX, Match, Show, Switch } from 'solid-js';

const ROWS_MAX = 50;
const DEPTH_MAX = 3;

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function plain(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** What an actor says of itself: fields as a list, a list of alike things as a table, and plain values as text. */
export function Told(props: { readonly value: unknown; readonly depth?: number }): JSX.Element {
  const depth = () => props.depth ?? 0;
  const list = () => (Array.isArray(props.value) ? (props.value as readonly unknown[]) : []);
  const isTable = () => list().length > 0 && list().every(isFields) && depth() < DEPTH_MAX;
  return (
    <Switch fallback={plain(props.value)}>
      <Match when={isTable()}>
        <TableOf rows={list() as readonly Fields[]} />
      </Match>
      <Match when={Array.isArray(props.value)}>{list().length === 0 ? 'none' : list().map(plain).join(', ')}</Match>
      <Match when={isFields(props.value) && depth() < DEPTH_MAX}>
        <dl class="facts" classList={{ nested: depth() > 0 }}>
          <For each={Object.entries(props.value as Fields)}>
            {([name, value]) => (
              <>
                <dt>{words(name)}</dt>
                <dd>
                  <Told value={value} depth={depth() + 1} />
                </dd>
              </>
            )}
          </For>
        </dl>
      </Match>
    </Switch>
  );
}

/** The table is as wide as it must be, and scrolls in its own place. */
function TableOf(props: { readonly rows: readonly Fields[] }) {
  const columns = () => [...new Set(props.rows.flatMap((row) => Object.keys(row)))];
  return (
    <div class="told">
      <table>
        <thead>
          <tr>
            <For each={columns()}>{(name) => <th scope="col">{words(name)}</th>}</For>
          </tr>
        </thead>
        <tbody>
          <For each={props.rows.slice(0, ROWS_MAX)}>
            {(row) => (
              <tr>
                <For each={columns()}>{(name) => <td>{plain(row[name])}</td>}</For>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={props.rows.length > ROWS_MAX}>
        <small>and {props.rows.length - ROWS_MAX} more</small>
      </Show>
    </div>
  );
}

/** downReason is "down reason". */
function words(name: string): string {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
}
