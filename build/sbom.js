// Writes dist/sbom.cdx.json, the CycloneDX list of the packages that fx ships: its dependencies, and what is bundled
// into dist, which dist/LICENSES.txt names. `npm sbom` refuses the overrides of package.json, and knows no bundle.
import { readFileSync, writeFileSync } from "node:fs";

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
const licences = readFileSync("dist/LICENSES.txt", "utf8");
const bundled = [...licences.matchAll(/^node_modules\/\S+$/gm)].map(([path]) => path);
const shipped = Object.entries(packages).filter(([path, { dev }]) => {
  return path !== "" && (!dev || bundled.includes(path));
});

const bill = {
  bomFormat: "CycloneDX",
  specVersion: "1.5",
  version: 1,
  metadata: { component: component("fx", packages[""], "application") },
  components: shipped.map(([path, locked]) => component(path, locked, "library")),
};
writeFileSync("dist/sbom.cdx.json", `${JSON.stringify(bill, null, 1)}\n`);

function component(path, { version, license, integrity = "" }, type) {
  const name = path.split("node_modules/").at(-1);
  const content = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  return {
    type,
    "bom-ref": path,
    name,
    version,
    licenses: [{ license: { id: license } }],
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    ...(content !== "" && { hashes: [{ alg: "SHA-512", content }] }),
  };
}
