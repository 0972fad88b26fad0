import { openHttpService } from "../src/client/http-service.ts";
import { describeExchangeService } from "./service.contract.ts";
import { openInstance, startServer } from "./support/server.ts";

describeExchangeService("ExchangeService over a store in this process", async () => {
  const { service, rates } = await openInstance();
  return { service, rates, close: () => service.close() };
});

describeExchangeService("ExchangeService over HTTP", async () => {
  const server = await startServer();
  const service = openHttpService(server.url);
  return {
    service,
    rates: server.rates,
    close: async () => {
      await service.close();
      await server.close();
    },
  };
});
