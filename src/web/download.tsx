import { useEffect, useState } from "preact/hooks";
import { useApp, useRead } from "./app.ts";
import { Button, Unread } from "./elements.tsx";
import { saveFile } from "./save.ts";

interface DownloadProps {
  readonly label: string;
  readonly title?: string;
  /** As `urlOf` gives it. */
  readonly url: string;
  /** The name of the file. */
  readonly name: string;
  readonly type: string;
}

/** A button that saves what the server answers, as it is, in a file. */
export function Download({ label, title, url, name, type }: DownloadProps) {
  const { api, reads } = useApp();
  /** Each click counts up, and the file is read anew for it. Another period, another file. */
  const [wanted, setWanted] = useState({ url, nth: 0, isSaved: true });
  const isWanted = wanted.url === url && !wanted.isSaved;
  const read = useRead<Blob>(reads, isWanted ? `file ${url} ${wanted.nth}` : undefined, (signal) =>
    api.file(url, signal),
  );
  useEffect(() => {
    if (read.value === undefined) return;
    saveFile(name, type, read.value);
    setWanted({ ...wanted, isSaved: true });
  }, [read.value]);
  const onClick = () => setWanted({ url, nth: wanted.nth + 1, isSaved: false });
  return (
    <>
      <Button label={label} title={title} aria-busy={read.isLoading} onClick={onClick} />
      {read.failure !== undefined && <Unread read={read} />}
    </>
  );
}
