// Generated from openapi.json by `npm run generate`. Do not edit.
import type { MetadataJson } from "libphonenumber-js/core";

declare const metadata: MetadataJson;
export default metadata;
