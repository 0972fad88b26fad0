interface TileProps {
  readonly label: string;
  readonly value: string;
  readonly isBad?: boolean;
  readonly title?: string;
}

/** A figure that counts most, in a list of such. */
export function Tile({ label, value, isBad = false, title }: TileProps) {
  return (
    <div class={isBad ? "bad" : ""} title={title}>
      <dt>{label}</dt>
      <dd class="figures">{value}</dd>
    </div>
  );
}
