import { type ComponentChildren, createElement, Fragment, options, type VNode } from "preact";

/**
 * Elements that hold only text, and that nobody can focus. With another text, such an element is replaced by a new
 * one.
 */
const leaves: ReadonlySet<unknown> = new Set(["td", "th", "dt", "dd", "span", "strong", "code"]);
/** Elements that hold text only. */
const textOnly: ReadonlySet<unknown> = new Set(["option", "title", "textarea"]);

/**
 * Has every text that changes replaced with an element around it. A browser's translation puts elements of its own in
 * place of texts; Preact would go on to write into those that were there, which nobody sees any more: the amount of
 * one currency would stay beside the name of another.
 */
export function keyTexts(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    keyText(vnode as VNode<{ children?: ComponentChildren }>);
    before?.(vnode);
  };
}

function keyText(vnode: VNode<{ children?: ComponentChildren }>): void {
  const { type, props } = vnode;
  if ((typeof type !== "string" && type !== Fragment) || textOnly.has(type)) return;
  const { children } = props;
  if (isText(children) && leaves.has(type)) {
    vnode.key = `${vnode.key ?? ""} ${children}`;
    return;
  }
  const wrapped = wrap(children);
  if (wrapped !== children) props.children = wrapped;
}

function wrap(children: ComponentChildren): ComponentChildren {
  if (Array.isArray(children)) {
    return children.some((child) => isText(child) || Array.isArray(child)) ? children.map(wrap) : children;
  }
  return isText(children) ? createElement("span", null, children) : children;
}

function isText(child: ComponentChildren): child is string | number {
  return (typeof child === "string" && child !== "") || typeof child === "number";
}
