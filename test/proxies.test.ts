import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openHttpService } from "../src/client/http-service.ts";
import { adult, terms } from "./support/fixture.ts";
import { freePort } from "./support/postgres.ts";
import { certificate, programOf, proxies, type ReverseProxy, startProxy } from "./support/reverse-proxy.ts";
import { type Served, startFx } from "./support/run-fx.ts";
import { startServer } from "./support/server.ts";
import { until } from "./support/until.ts";

const pesel = adult(17);
const surname = "Gżegżółka";
const opening = { name: "Żaneta", surname, pesel, pln: 7318.37 };
const order = { pesel, from: "PLN", to: "USD", toBuy: 10 };

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

for (const name of proxies) {
  const program = programOf(name);
  describe(`fx behind ${name}, with the configuration of deploy/`, {
    skip: program === undefined ? `${name} is not installed (apt-get install ${name})` : false,
  }, () => {
    let served: Served;
    let proxy: ReverseProxy;
    before(async () => {
      served = await startFx(["--rates", "demo", "--prefix", "/fx"]);
      proxy = await startProxy(name, [Number(new URL(served.url).port)]);
      await until(async () => (await ask("GET", "/fx/health/ready")).status === 200);
    });
    after(async () => {
      await proxy?.stop();
      await served?.stop();
    });

    async function ask(
      method: string,
      path: string,
      body?: string,
      type = "application/json",
      url = proxy.url,
    ): Promise<Answer> {
      const headers = body === undefined ? {} : { "content-type": type };
      const asked = request(`${url}${path}`, { method, headers, ca: certificate, agent: false });
      asked.end(body);
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      return { status: response.statusCode ?? 0, headers: response.headers, text };
    }

    test(`fx behind ${name} is reached over TLS under its prefix, and its links lead back there`, async () => {
      assert.equal((await ask("POST", "/fx/api/user", JSON.stringify(opening))).status, 204);
      const exchanged = await ask("POST", `/fx/api/exchange/${pesel}`, JSON.stringify(order));
      assert.equal(exchanged.status, 200, exchanged.text);
      const receipt = String(exchanged.headers["fx-receipt"]);
      assert.match(receipt, /^\/fx\/api\/receipts\//);
      assert.equal((await ask("GET", receipt)).status, 200);
      assert.match((await ask("GET", "/fx/docs")).text, /<html/);
    });

    test(`The client at the port of ${name} is told to use https`, async (t) => {
      const service = openHttpService(`${proxy.url.replace("https:", "http:")}/fx`, { pauseMs: 1 });
      t.after(() => service.close());
      await assert.rejects(service.rates(), { code: "unreachable", hint: / use https:\/\/[^ ]+\/fx\.$/ });
      const order = service.exchange({ pesel, ...terms("buy 10 USD for PLN"), key: "k" });
      await assert.rejects(order, { code: "outcome-unknown" });
    });

    test(`fx behind ${name} answers a bulk`, async () => {
      const lines = `${JSON.stringify(order)}\n`.repeat(300);
      const { status, text } = await ask("POST", "/fx/api/bulk", lines, "application/x-ndjson");
      assert.deepEqual([status, text.trim().split("\n").length], [200, 300]);
    });

    test(`fx behind ${name} shows nothing of its metrics, however their path is written, and nothing outside its prefix`, async () => {
      const paths = ["/fx/metrics", "/fx/metrics?x", "/fx/%6detrics", "/fx/metric%73", "/fx//metrics"];
      for (const path of [...paths, "/fx/./metrics", "/metrics", "/", "/health/live", `/api/user/${pesel}`]) {
        const { status, text } = await ask("GET", path);
        assert.deepEqual([status, text.includes("fx_orders_total")], [404, false], path);
      }
    });

    test(`fx behind ${name} waits for an audit, and a checkpoint behind it, that take longer than its time limit`, async (t) => {
      const quick = await startServer();
      t.after(() => quick.close());
      const slow = await startServer(
        {
          audit: async (options) => {
            await pause(3000);
            return quick.service.audit(options);
          },
        },
        "/fx",
        { slowAnswers: { firstMs: 300, nextMs: 300 } },
      );
      t.after(() => slow.close());
      const impatient = await startProxy(name, [Number(new URL(slow.url).port)], 1);
      t.after(() => impatient.stop());
      const [audit, checkpoint] = await Promise.all(
        ["/fx/api/audit", "/fx/api/audit/checkpoint"].map((path) =>
          ask("GET", path, undefined, undefined, impatient.url),
        ),
      );
      assert.deepEqual([audit?.status, JSON.parse(audit?.text ?? "").findings], [200, []]);
      assert.match(audit?.text ?? "", /^\s+\{/);
      assert.match(checkpoint?.text ?? "", /^\s+\{"checkpoint":1,.*\n\{"ok":true,.*\n$/);
    });

    test(`No request behind ${name} fails while two processes are replaced as in an upgrade`, async (t) => {
      const ports = [await freePort(), await freePort()];
      const start = (port: number | undefined) => startFx(["--port", `${port}`, "--demo", "--prefix", "/fx"]);
      const both = await Promise.all(ports.map(start));
      const pair = await startProxy(name, ports);
      t.after(() => Promise.all([pair.stop(), ...both.map((each) => each.stop())]));
      const get = () => ask("GET", "/fx/api/rates", undefined, undefined, pair.url);
      await until(async () => (await get()).status === 200);
      const answers: Promise<Answer>[] = [];
      const asking = setInterval(() => answers.push(get()), 50);
      for (const [index, port] of ports.entries()) {
        await both[index]?.stop();
        // HAProxy takes a process for gone after 3 s.
        if (index === 0) await pause(3500);
        both[index] = await start(port);
      }
      clearInterval(asking);
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      assert.deepEqual([...new Set(statuses)], [200], statuses.join());
    });

    test(`fx behind ${name} logs requests by the id under which fx logs the route, and without what is in their paths`, async () => {
      const { headers } = await ask("GET", `/fx/api/user/${pesel}`);
      await ask("GET", `/fx/api/users?name=${encodeURIComponent(surname)}`);
      await ask("GET", `/fx/api/user/${pesel}%`);
      await served.stop();
      const away = await ask("GET", `/fx/api/user/${pesel}?name=${encodeURIComponent(surname)}`);
      assert.ok([502, 503].includes(away.status), String(away.status));
      const id = String(headers["x-request-id"]);
      await until(() => proxy.log().includes(id) && proxy.log().includes(` ${away.status} `));
      assert.ok(served.output().stderr.includes(`"id":"${id}"`));
      for (const secret of [pesel, surname, encodeURIComponent(surname), "/api/"]) {
        assert.equal(proxy.log().includes(secret), false, `${secret} in ${proxy.log()}`);
      }
    });
  });
}
