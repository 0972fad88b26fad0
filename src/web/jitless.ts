import { config } from "zod";

// The page's policy forbids `eval`, which zod tries when a schema is made: the browser would log an error.
config({ jitless: true });
