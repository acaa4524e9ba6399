// The content policy of the page: the one place where it stands. scripts/serve.mjs sends it, web/app/vite.config.ts
// writes it into index.html (for hosts that send no headers) and into build/page/_headers (for hosts that read it).

// No inline script and no eval but WebAssembly's; style-src-attr: React and the virtualized table set element styles.
// connect-src: a person may name any https server that allows it (a Hub mirror, a bucket), and the Hub's CDN hosts
// change their names. http only on this machine. Nothing is ever sent there but requests for the parts of a file.
const DIRECTIVES = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  // a download that the service worker feeds is fetched by a frame
  "frame-src 'self'",
  "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
];

/** For a <meta>: frame-ancestors means nothing there. */
export const META_POLICY = DIRECTIVES.join('; ');
export const POLICY = `${META_POLICY}; frame-ancestors 'none'`;

// Sent with everything: a worker takes the policy of its own script's response.
export const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};
