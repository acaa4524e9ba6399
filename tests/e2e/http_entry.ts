// What http_rules.test.mjs loads into a page.
export { HttpClient } from '../../web/engine/http_client';
export { HttpSource } from '../../web/engine/http_source';
