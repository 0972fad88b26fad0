import { config } from "zod";

// The page's policy allows no code made of text. zod would try, and the console tell. It looks when a schema is made.
config({ jitless: true });
