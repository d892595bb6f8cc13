import type {
	Advance,
	AgencyControl,
	ConsentSettings,
	ContactMessage,
	ConversationControl,
	DuringOptions,
	FaultEffect,
	FaultOptions,
	KeysControl,
	LinkOptions,
	MessageControl,
	Sandbox,
	SandboxOptions,
} from "messaging-conversations/sandbox";
import type { ServeOptions } from "messaging-conversations/sandbox/server";
import { expectTypeOf, test } from "vitest";

/** The optional properties that may be left out, but not be undefined. */
type Refusing<Options> = {
	[Name in keyof Options]-?: object extends Pick<Options, Name>
		? { [Only in Name]: undefined } extends Pick<Options, Name>
			? never
			: Name
		: never;
}[keyof Options];

type Last<Act extends (...given: never[]) => unknown> =
	Required<Parameters<Act>> extends [...unknown[], infer Options] ? Options : never;

test("each optional option of a sandbox and of its controls takes undefined", () => {
	expectTypeOf<Refusing<{ readonly strict?: string }>>().toEqualTypeOf<"strict">();
	expectTypeOf<Refusing<SandboxOptions>>().toBeNever();
	expectTypeOf<Refusing<NonNullable<SandboxOptions["policy"]>>>().toBeNever();
	expectTypeOf<Refusing<ServeOptions>>().toBeNever();
	expectTypeOf<Refusing<Advance>>().toBeNever();
	expectTypeOf<Refusing<ConsentSettings>>().toBeNever();
	expectTypeOf<Refusing<ContactMessage>>().toBeNever();
	expectTypeOf<Refusing<DuringOptions>>().toBeNever();
	expectTypeOf<Refusing<FaultOptions>>().toBeNever();
	expectTypeOf<Refusing<FaultEffect>>().toBeNever();
	expectTypeOf<Refusing<LinkOptions>>().toBeNever();
	expectTypeOf<Refusing<Last<Sandbox["events"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<AgencyControl["contact"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<KeysControl["create"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<MessageControl["failed"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<MessageControl["undelivered"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<MessageControl["set"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<ConversationControl["shareWith"]>>>().toBeNever();
	expectTypeOf<Refusing<Last<ConversationControl["takeOver"]>>>().toBeNever();
	expectTypeOf<Last<ConversationControl["takeOver"]>>().toEqualTypeOf<{ times?: number | undefined }>();
});
