import type { JSX } from 'solid-js';

/** Something to read while there is nothing to see. */
export function Calm(props: { readonly children: JSX.Element }) {
  return (
    <p class="calm" role="status">
      {props.children}
    </p>
  );
}

export function Absent(props: { readonly what: string }) {
  return <Calm>This system does not run {props.what}. It appears here as soon as the topology has it.</Calm>;
}

export function Trouble(props: { readonly children: JSX.Element }) {
  return (
    <p class="trouble" role="alert">
      {props.children}
    </p>
  );
}
