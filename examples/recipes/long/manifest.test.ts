// The manifest of the recipe against the schema of Kubernetes.
import { readFileSync } from "node:fs";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { expect, test } from "vitest";
import { parse } from "yaml";

const manifest = () => parse(readFileSync("kubernetes/deployment.yaml", "utf8"));

test("the manifest is a valid Deployment, and a mistake in it would be found", () => {
	expect(() => new Deployment(manifest()).validate()).not.toThrow();
	const wrong = manifest();
	wrong.spec.template.spec.terminationGracePeriodSeconds = "45s";
	expect(() => new Deployment(wrong).validate()).toThrow("terminationGracePeriodSeconds");
});
