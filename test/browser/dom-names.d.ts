// Names of the browser that Playwright's types mention. The whole DOM library would tell the rest of the program that it
// runs in a browser.
export {};

declare global {
  interface Node {
    readonly nodeType: number;
  }
  interface HTMLElement extends Node {
    readonly tagName: string;
  }
  interface SVGElement extends Node {
    readonly tagName: string;
  }
  interface HTMLElementTagNameMap {
    [name: string]: HTMLElement;
  }
}
