import Fastify from "fastify";
import * as z from "zod";
import { account, openingBody, orderBody } from "../src/wire/schemas.ts";

/**
 * What everything is compared with: Fastify routes of the contract's shape that take the same bodies, validate them by
 * the same JSON schemas, and answer a constant.
 */
const app = Fastify({ logger: false });
const schemaOf = (schema: z.ZodType, io: "input" | "output") =>
  z.toJSONSchema(schema, { io, target: "draft-7" });
const constant = {
  name: "Jan",
  surname: "Kowalski",
  pesel: "70011000003",
  currencies: [
    { symbol: "PLN", amount: 999_996.3 },
    { symbol: "USD", amount: 1 },
  ],
};
const answer = { response: { 200: schemaOf(account, "output") } };

app.post("/api/user", { schema: { body: schemaOf(openingBody, "input") } }, async (_request, reply) => {
  reply.code(204);
});
app.get("/api/user/:pesel", { schema: answer }, async () => constant);
app.get("/api/quote", { schema: answer }, async () => constant);
app.post(
  "/api/exchange/:pesel",
  { schema: { body: schemaOf(orderBody, "input"), ...answer } },
  async () => constant,
);

process.stdout.write(`${await app.listen({ port: 0, host: "127.0.0.1" })}\n`);
process.once("SIGTERM", () => void app.close());
