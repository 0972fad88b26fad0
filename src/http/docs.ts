import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import type { OpenApiDocument } from "../wire/openapi.ts";
import { pagePolicy } from "./page.ts";

/** The page under /docs. It shows the document and lets you try it. It loads nothing from elsewhere. */
export function registerDocs(app: FastifyInstance, document: OpenApiDocument, prefix: string): void {
  app.register((docs, _options, done) => {
    // The pages' own redirects know nothing of the prefix.
    docs.addHook("onSend", (_request, reply, _payload, next) => {
      const location = reply.getHeader("location");
      if (location !== undefined) reply.header("location", `${prefix}${location}`);
      next();
    });
    // Static, so that it only hands out the document: its other mode looks into every route.
    docs.register(swagger, { mode: "static", specification: { document: document as never } });
    docs.register(swaggerUi, {
      routePrefix: "/docs",
      indexPrefix: prefix,
      // Without the bar that asks for another document.
      uiConfig: {
        layout: "BaseLayout",
        validatorUrl: null,
        defaultModelsExpandDepth: 0,
        displayRequestDuration: true,
      },
      theme: { title: "fx · API" },
      // Its own policy would have browsers turn to https.
      staticCSP: pagePolicy("img-src 'self' data:"),
    });
    done();
  });
}
