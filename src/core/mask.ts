/** Hides all but the first six of every run of 11 digits or more in `text`, unless it is an amount such as "1.00". */
export function maskPesels(text: string): string {
  return text.replace(/(?<!\d)\d{11,}(?!\d|\.\d| [A-Z]{3}\b)/g, (digits) => `${digits.slice(0, 6)}*****`);
}
