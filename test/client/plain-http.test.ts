import assert from "node:assert/strict";
import { test } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import { PlainHttpError } from "../../src/wire/plain-http.ts";

const token = "fxt_hidden123";

/** Addresses over which a secret would go to another machine in clear text, or may. */
const exposed = [
  "http://fx.example",
  "http://fx.example:8443/fx",
  "http://10.0.0.7:8080",
  "http://192.168.1.1",
  "http://0.0.0.0:8080",
  "http://[2001:db8::1]:8080",
  "http://[::ffff:10.0.0.7]",
  "http://[::ffff:127.0.0.1]",
  "http://localhost.example",
  "http://fx.localhost",
  "http://localhost.",
  "http://127.0.0.1.example",
  "http://127.example",
  "http://notlocalhost",
  "HTTP://FX.EXAMPLE",
];

/** Addresses over which nobody else can read it. Those of 127.0.0.0/8 have other forms. */
const safe = [
  "https://fx.example",
  "https://10.0.0.7:8443",
  "http://127.0.0.1:8080",
  "http://127.1.2.3",
  "http://127.1",
  "http://2130706433",
  "http://localhost:8080/fx",
  "http://LOCALHOST",
  "http://[::1]:8080",
  "http://[0:0:0:0:0:0:0:1]",
];

/** An address with a secret in it, and the options that have one. */
const secrets = {
  "a token": (address: string) => [address, { token }],
  "a user and password": (address: string) => [address.replace("://", "://jan:hidden@"), {}],
  "a user": (address: string) => [address.replace("://", "://hidden@"), {}],
  "a key in the query": (address: string) => [`${address}/?api_key=hidden`, {}],
} as const satisfies Record<string, (address: string) => [string, { token?: string }]>;

for (const [secret, withIt] of Object.entries(secrets)) {
  test(`${secret} over plain HTTP goes to no other machine unless that is allowed, and is not shown`, async () => {
    for (const [url, options] of exposed.map(withIt)) {
      assert.throws(
        () => openHttpService(url, options),
        (error) => error instanceof PlainHttpError && !error.message.includes("hidden"),
        url,
      );
      await openHttpService(url, { ...options, allowPlainHttp: true }).close();
    }
  });

  test(`${secret} goes to this machine, and anywhere over https`, async () => {
    for (const [url, options] of safe.map(withIt)) await openHttpService(url, options).close();
  });
}

test("a client without a secret may ask any address", async () => {
  for (const address of [...exposed, ...safe]) await openHttpService(address).close();
});

test("An address or a token that no request can have is a TypeError, before anything is sent", () => {
  for (const [url, own] of [
    ["localhost:8080", token],
    ["fx.example", token],
    ["https://fx.example", "fxt_hidden\n123"],
  ] as const) {
    assert.throws(
      () => openHttpService(url, { token: own }),
      (error) => error instanceof TypeError && !error.message.includes("hidden"),
      url,
    );
  }
});
