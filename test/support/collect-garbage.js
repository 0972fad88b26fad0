// Preloaded into a server whose memory is watched: uncollected garbage would look like growth.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  setFlagsFromString("--expose-gc");
  setInterval(runInNewContext("gc"), 2000).unref();
}
