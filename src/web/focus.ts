/**
 * Whether what comes late may take the focus: not from the search box. The Enter that is meant for a search would
 * confirm an order.
 */
export function mayTakeFocus(): boolean {
  return document.activeElement?.matches("[type=search]") !== true;
}
