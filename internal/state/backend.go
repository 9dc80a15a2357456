package state

// Backend is what `tofu init -backend-config` takes for the state at key. It
// holds no secret; Environment has those.
func (c S3) Backend(key string) map[string]string {
	return map[string]string{
		"bucket":         c.Bucket,
		"key":            key,
		"region":         c.Region,
		"use_lockfile":   "true",
		"use_path_style": "true",
		// Questions that only Amazon's own services answer.
		"skip_credentials_validation": "true",
		"skip_metadata_api_check":     "true",
		"skip_region_validation":      "true",
		"skip_requesting_account_id":  "true",
		"skip_s3_checksum":            "true",
	}
}

// Environment is what tofu needs in its environment to use the bucket.
func (c S3) Environment() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + c.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + c.SecretKey,
		"AWS_ENDPOINT_URL_S3=" + c.Endpoint,
		"AWS_REQUEST_CHECKSUM_CALCULATION=when_required",
		"AWS_RESPONSE_CHECKSUM_VALIDATION=when_required",
	}
}
