import { type Tracer as OtelTracer, trace } from "@opentelemetry/api";
import { type ClientOptions, createClient, type Tracer } from "messaging-conversations";
import { expectTypeOf, test } from "vitest";

test("OpenTelemetry's own tracer fits the option as it is", () => {
	expectTypeOf<OtelTracer>().toExtend<Tracer>();
	expectTypeOf<OtelTracer>().toExtend<NonNullable<ClientOptions["tracer"]>>();
	createClient({ baseUrl: undefined, apiKey: undefined, tracer: trace.getTracer("crm") });
});

test("what is not a tracer does not fit", () => {
	// @ts-expect-error a logger is not a tracer
	createClient({ baseUrl: undefined, apiKey: undefined, tracer: console });
});
