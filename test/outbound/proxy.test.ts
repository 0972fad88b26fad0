import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { routeTo } from "../../src/outbound/proxy.ts";
import { withProxyVariables } from "../support/connect-proxy.ts";

const bank = "https://api.bank.test/api";
const proxy = "http://proxy.test:3128";

describe("the route to an address", () => {
  const routes: [what: string, variables: Record<string, string>, address: string, through?: string][] = [
    ["is direct without a proxy", {}, bank],
    ["of https leads through HTTPS_PROXY", { HTTPS_PROXY: proxy }, bank, proxy],
    ["of https leads through https_proxy", { https_proxy: proxy }, bank, proxy],
    ["of https does not lead through HTTP_PROXY", { HTTP_PROXY: proxy }, bank],
    ["of http leads through HTTP_PROXY", { HTTP_PROXY: proxy }, "http://bank.test", proxy],
    ["of http leads through http_proxy", { http_proxy: proxy }, "http://bank.test", proxy],
    ["of either leads through ALL_PROXY", { ALL_PROXY: proxy }, bank, proxy],
    [
      "names no user or password of the proxy",
      { HTTPS_PROXY: "http://fx:secret@proxy.test:3128" },
      bank,
      proxy,
    ],
    ["is direct for a host in NO_PROXY", { HTTPS_PROXY: proxy, NO_PROXY: "other.test,api.bank.test" }, bank],
    ["is direct for a domain in no_proxy", { HTTPS_PROXY: proxy, no_proxy: ".bank.test" }, bank],
    ["is direct where NO_PROXY is *", { HTTPS_PROXY: proxy, NO_PROXY: "*" }, bank],
    [
      "leads through the proxy for a host beside NO_PROXY",
      { HTTPS_PROXY: proxy, NO_PROXY: "b.test" },
      bank,
      proxy,
    ],
    ...["127.0.0.1:8080", "localhost:8080", "[::1]:8080"].map(
      (host): [string, Record<string, string>, string] => [
        `is direct for this machine, as ${host}`,
        { ALL_PROXY: proxy },
        `http://${host}`,
      ],
    ),
  ];
  for (const [what, variables, address, through] of routes) {
    test(`The route ${what}`, () =>
      withProxyVariables(variables, () => assert.equal(routeTo(new URL(address)).proxy, through)));
  }

  for (const address of ["socks5://fx:secret@proxy.test:1080", "https://"]) {
    test(`The proxy ${address} is refused, without a word of its password`, () =>
      withProxyVariables({ HTTPS_PROXY: address }, () => {
        assert.throws(() => routeTo(new URL(bank)), {
          code: "unreachable",
          message: "The proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY has no http or https address.",
        });
      }));
  }
});
