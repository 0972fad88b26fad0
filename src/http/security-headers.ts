/**
 * The security headers of every answer, those that helmet sets: run and frame nothing, guess no type, tell others nothing. Pages
 * set a Content-Security-Policy of their own.
 * @param isTls Behind a proxy, the host and its other ports are not fx's to bind to https.
 */
export function securityHeaders(isTls: boolean): Readonly<Record<string, string>> {
  return {
    "content-security-policy": "default-src 'none';frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "origin-agent-cluster": "?1",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",
    "x-download-options": "noopen",
    "x-frame-options": "DENY",
    "x-permitted-cross-domain-policies": "none",
    "x-xss-protection": "0",
    ...(isTls && { "strict-transport-security": "max-age=31536000" }),
  };
}
