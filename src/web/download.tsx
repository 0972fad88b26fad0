import { longestLastLine } from "../wire/export-files.ts";
import { NoAnswer } from "./answers.ts";
import { useApp, useTask } from "./app.ts";
import { Button, ReadState } from "./elements.tsx";
import { saveFile } from "./save.ts";

interface DownloadProps {
  readonly label: string;
  readonly title?: string;
  /** As `urlOf` gives it. */
  readonly url: string;
  /** The name of the file. */
  readonly name: string;
  readonly type: string;
  /** Whether these last characters are the end of such a file. */
  readonly isEnd?: (tail: string) => boolean;
}

/** A button that saves what the server answers, as it is, in a file. */
export function Download({ label, title, url, name, type, isEnd = () => true }: DownloadProps) {
  const { api } = useApp();
  const task = useTask<Blob>(url);
  const read = async (signal: AbortSignal) => {
    const blob = await api.file(url, signal);
    // A page of a proxy is no answer, and what it cut off is none.
    const tail = await blob.slice(-longestLastLine).text();
    if (blob.type.split(";")[0] !== type || !isEnd(tail)) throw new NoAnswer();
    return blob;
  };
  const save = () => task.run(read, (blob) => saveFile(name, type, blob));
  return (
    <>
      <Button label={label} title={title} aria-busy={task.isLoading} onClick={save} />
      {task.failure !== undefined && <ReadState read={task} />}
    </>
  );
}
