import { adapters } from "../support/adapters.ts";
import { storeContract } from "./store.contract.ts";

for (const adapter of adapters) storeContract(adapter);
