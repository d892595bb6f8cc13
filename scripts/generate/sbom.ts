import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";

/** What the document says of a package, as its package.json has it. */
export interface Manifest {
	name: string;
	version: string;
	description: string;
	/** An id of SPDX. */
	license: string;
	dependencies?: Record<string, string>;
}

/**
 * The CycloneDX document of a package and of the packages that its build inlines. It has no time and no serial number, so
 * that the same packages give the same text.
 */
export function sbom(own: Manifest, inlined: readonly Manifest[]): string {
	const whole = componentOf(own);
	const parts = new Map(inlined.map((manifest) => [manifest.name, componentOf(manifest)]));
	for (const { name, dependencies = {} } of inlined) {
		const part = parts.get(name);
		if (part) whole.dependencies.add(part.bomRef);
		for (const [other, { bomRef }] of parts) if (other in dependencies) part?.dependencies.add(bomRef);
	}
	const metadata = new Models.Metadata({ component: whole });
	const bom = new Models.Bom({ metadata, components: new Models.ComponentRepository(parts.values()) });
	const normalizer = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
	return `${new Serialize.JsonSerializer(normalizer).serialize(bom, { sortLists: true, space: "\t" })}\n`;
}

function componentOf({ name, version, description, license }: Manifest): Models.Component {
	const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
	const licenses = new Models.LicenseRepository([new Models.SpdxLicense(license)]);
	return new Models.Component(Enums.ComponentType.Library, name, {
		version,
		description,
		licenses,
		purl,
		bomRef: purl,
	});
}
