import { type JSX, onMount } from 'solid-js';

/** A modal that the browser keeps the focus in; Escape and a click beside it close it. */
export function Dialog(props: {
  readonly label: string;
  readonly class?: string;
  readonly children: JSX.Element;
  onClose(): void;
}) {
  let element!: HTMLDialogElement;
  onMount(() => element.showModal());
  return (
    <dialog
      ref={element}
      class={props.class}
      aria-label={props.label}
      onClose={() => props.onClose()}
      onPointerDown={(event) => event.target === element && element.close()}
    >
      {props.children}
    </dialog>
  );
}
